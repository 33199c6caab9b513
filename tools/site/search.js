// build.py appends this file to the search worker of the theme. It finds Chinese words.
//
// The theme splits texts and queries at spaces, which Chinese text does not have, and removes all
// characters but ASCII letters and digits from the ends of words. This file adds a term for each
// Chinese character: the character with those that follow it. A query finds the terms that begin with
// it, so it finds Chinese words anywhere in a text.
{
  const lunr = self.lunr;
  const longest = 8;  // characters of a term; longer words in queries are cut
  const chinese = "[\\u3400-\\u9fff]";
  const word = "[\\w\\u3400-\\u9fff]";
  const punctuation = "[\\u2010-\\u2027\\u3000-\\u303f\\uff00-\\uffef]";

  const tokenizer = lunr.tokenizer;
  const runs = new RegExp(`${chinese}+`, "g");
  const other = new RegExp(`${chinese}+|${punctuation}+`, "g");
  lunr.tokenizer = (text, metadata) => {
    if (text == null || Array.isArray(text)) return tokenizer(text, metadata);
    const tokens = tokenizer(String(text).replace(other, " "), metadata);
    for (const [run] of String(text).matchAll(runs))
      for (let i = 0; i < run.length; ++i) tokens.push(new lunr.Token(run.slice(i, i + longest), { ...metadata }));
    return tokens;
  };

  const trimmer = lunr.trimmer;
  const beginsChinese = new RegExp(`^${chinese}`);
  lunr.trimmer = (token) => (beginsChinese.test(token.toString()) ? token : trimmer(token));
  lunr.trimmer.label = trimmer.label;

  const edits = [
    [new RegExp(`(${word})${punctuation}+(?=${word})`, "g"), "$1 "],
    [new RegExp(`(${word})${punctuation}+|${punctuation}+(?=${word})`, "g"), "$1"],
    [new RegExp(`(\\w)(?=${chinese})|(${chinese})(?=\\w)`, "g"), "$1$2 "],
    [new RegExp(`(${chinese}{${longest}})${chinese}+`, "g"), "$1"],
  ];
  const separated = (query) => edits.reduce((text, [pattern, by]) => text.replace(pattern, by), query);
  lunr.QueryParser = class extends lunr.QueryParser {
    constructor(query, result) {
      super(separated(query), result);
    }
  };

  // The theme appends a `*` to the query, so that its last word finds the terms that begin with it.
  const search = lunr.Index.prototype.search;
  const endsChinese = new RegExp(`(${chinese})(?=\\s)`, "g");
  lunr.Index.prototype.search = function (query) {
    return search.call(this, separated(query).replace(endsChinese, "$1*"));
  };
}
