/** A process of `collc build` that compiles one text. It ends with the one that has started it, if not before. */
import { compileCuda } from "../../runtime/program.js";
import type { CompileRequest } from "./compilers.js";

process.on("message", ({ cuda, arch }: CompileRequest) => {
  compileCuda(cuda, arch).then(
    (made) => process.send!(made),
    () => process.send!(null), // told by who asks
  );
});
process.on("disconnect", () => process.exit());
