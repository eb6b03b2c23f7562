// Completes MQSC. `words` is the language as the server describes it; `names(kind)` gives the objects of a kind.

// Returns the letters of the word that is being typed, and the words that it may become.
export function completions(words, text, names) {
  const { tokens, open, typed, isQuoted } = read(text);
  if (isQuoted) return { typed: "", words: [] };
  const verb = meant(words.verbs, tokens[0]?.word);
  const rest = tokens.slice(1).filter((each) => each.word !== "REPLACE" && each.word !== "NOREPLACE");
  const kind = verb && meant(words.objects.filter((each) => verb.objects.includes(each.name)), rest[0]?.word);
  const keywords = kind ? words.keywords[verb.name][kind.name] : {};
  let possible = [];
  if (open) {
    if (rest.length === 1 && kind) possible = names(kind.name);
    else if (rest.length > 1) possible = keywords[rest.at(-1).word] ?? [];
  } else if (!tokens.length) possible = words.verbs.map((each) => each.name);
  else if (verb && !rest.length) possible = verb.objects;
  else if (kind) {
    const used = new Set(tokens.map((each) => each.word));
    possible = Object.keys(keywords).filter((each) => !used.has(each));
  }
  const wanted = typed.toUpperCase();
  return { typed, words: possible.filter((each) => each.startsWith(wanted) && each !== wanted) };
}

function meant(known, text) {
  return text && known.find((each) => text.length >= each.shortest && each.name.startsWith(text));
}

// The complete words outside of parentheses of the last command, and the word at its end.
function read(text) {
  let tokens = [], word = "", depth = 0, isQuoted = false, isComment = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "\n") {
      const isContinued = /[+-]\s*$/.test(text.slice(0, at)) && !isComment;
      isComment = false;
      if (isContinued) word = word.replace(/[+-]$/, "");
      else {
        tokens = [];
        word = "";
        depth = 0;
        isQuoted = false;
        continue;
      }
    }
    if (isComment) continue;
    if (isQuoted) { isQuoted = char !== "'"; continue; }
    if (char === "*" && !tokens.length && !word) { isComment = true; continue; }
    if (char === "'") {
      isQuoted = true;
      word = "";
    } else if (char === ";") {
      tokens = [];
      word = "";
      depth = 0;
    } else if (/[\s(),]/.test(char)) {
      if (word && !depth) tokens.push({ word: word.toUpperCase() });
      word = "";
      depth = Math.max(0, depth + (char === "(" ? 1 : char === ")" ? -1 : 0));
    } else word += char;
  }
  return isComment ? { tokens: [], open: 0, typed: "", isQuoted: true } : { tokens, open: depth, typed: word, isQuoted };
}
