// FileDrop: `.stator` files that are dropped on the page, or chosen, are shown in it. A file that cannot be read
// leaves the page as it was, with a message.

import type { PageData } from "./data";
import { h } from "./dom";
import { Damage } from "./json";
import { closeNotice, notice } from "./notice";
import { readSaved } from "./saved_file";

export class FileDrop {
  readonly input = h("input", { type: "file", accept: ".stator", class: "file-input", tabindex: -1, "aria-label": "a .stator file" });
  private over = h("div", { class: "drop-over", hidden: true }, h("p", {}, "Drop the .stator file"));

  /** `show` shows a page that was read; if it raises, the page is as it was. */
  constructor(private version: string, private show: (page: PageData) => void) {
    document.body.append(this.over, this.input);
    this.input.addEventListener("change", () => {
      void this.open([...(this.input.files ?? [])]);
      this.input.value = "";
    });
    for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, (event) => this.drag(event as DragEvent));
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) this.over.hidden = true; // it has left the window
    });
    document.addEventListener("drop", (event) => this.drop(event));
  }

  choose(): void {
    this.input.click();
  }

  private drag(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    this.over.hidden = false;
  }

  private drop(event: DragEvent): void {
    this.over.hidden = true;
    const files = [...(event.dataTransfer?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    void this.open(files);
  }

  private async open(files: File[]): Promise<void> {
    const file = files.find((one) => one.name.endsWith(".stator")) ?? files[0];
    if (!file) return;
    try {
      this.show(readSaved(file.name, new Uint8Array(await file.arrayBuffer()), this.version));
      closeNotice();
    } catch (error) {
      const isUnread = error instanceof DOMException; // a folder, or a file that has gone
      notice(error instanceof Damage ? error.message : isUnread ? `${file.name} cannot be read` : `${file.name} cannot be shown: ${String(error)}`);
    }
  }
}
