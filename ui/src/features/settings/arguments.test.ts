import { expect, it } from "vitest";
import { joinArguments, splitArguments } from "./arguments";

it.each([
  ["", []], ["  a  b ", ["a", "b"]], [`--x "two words" 'it is' end`, ["--x", "two words", "it is", "end"]],
  [`a\\ b "say \\"hi\\"" '\\n'`, ["a b", 'say "hi"', "\\n"]], [`"" x`, ["", "x"]], ["--k='v w'", ["--k=v w"]], ["$HOME *", ["$HOME", "*"]],
])("splits %j", (line, expected) => {
  expect(splitArguments(line)).toEqual(expected);
});

it.each([[[]], [["a", "b c"]], [["it's", '"', "\\", "", "--k='v w'", "a\nb", "$HOME"]]])("joins %j so that it comes apart again", (args) => {
  expect(splitArguments(joinArguments(args))).toEqual(args);
});
