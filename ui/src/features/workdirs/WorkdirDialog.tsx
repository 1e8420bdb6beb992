import { useEffect } from "react";
import type { Id } from "../../generated/api";
import { useApp } from "../../state/app";
import { useWatched } from "../../state/watched";
import { DiffDialog } from "./DiffDialog";
import { MergeDialog, RemoveWorkdirDialog, RestoreWorkdirDialog } from "./WorkdirDialogs";

interface Props { kind: "workdir_diff" | "merge_workdir" | "remove_workdir" | "restore_workdir"; project: Id; workdir: Id }

/** What is done with one workdir. What is said of it beforehand is as fresh as the list. */
export function WorkdirDialog({ kind, project, workdir: id }: Props) {
  const app = useApp();
  const { data, error } = useWatched(app.workdirs.lists, project);
  const workdir = data?.find((each) => each.id === id);
  const missing = !workdir && (data !== undefined || error !== null);
  useEffect(() => {
    if (missing) app.closeDialog();
  }, [app, missing]);
  if (!workdir) return null;
  switch (kind) {
    case "workdir_diff": return <DiffDialog workdir={workdir} />;
    case "merge_workdir": return <MergeDialog workdir={workdir} />;
    case "remove_workdir": return <RemoveWorkdirDialog workdir={workdir} />;
    case "restore_workdir": return <RestoreWorkdirDialog workdir={workdir} />;
  }
}
