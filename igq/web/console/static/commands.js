// Commands that a button gives: asked for once more, and their answers told.

import { post } from "./api.js";
import { visible } from "./dom.js";

// Returns whether the server was asked.
export async function command(context, question, path, body) {
  if (!confirm(visible(question))) return false;
  try {
    const { answers } = await post(path, body);
    context.tell(answers.flatMap((each) => each.lines).join("\n"), answers.some((each) => !each.is_done));
  } catch (error) {
    context.tell(error.message, true);
  }
  return true;
}
