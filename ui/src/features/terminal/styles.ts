// xterm.js gives a cell with a 24-bit colour its colour by setAttribute("style", ...), which the window's content security policy
// (style-src-attr 'none') ignores without a word: such text would have no colour. Setting the same declarations through the object
// model is allowed, so the attribute is written that way.

const native = Element.prototype.setAttribute;

if (native.name !== "setAttributeByObjectModel") {
  Element.prototype.setAttribute = function setAttributeByObjectModel(this: Element, name: string, value: string) {
    if (name === "style" && this instanceof HTMLElement) this.style.cssText = value;
    else native.call(this, name, value);
  };
}
