// Copyright (c) 2026, livenodes.kubelet contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// A textlint rule: a sentence with more than `max` verbs in the passive voice hides who does what.
"use strict";

const passiveVoice = require("passive-voice");
const { split, SentenceSplitterSyntax } = require("sentence-splitter");

module.exports = (context, options = {}) => {
  const { Syntax, RuleError, report, getSource, locator } = context;
  const max = options.max ?? 1;
  return {
    [Syntax.Paragraph](node) {
      for (const sentence of split(getSource(node))) {
        if (sentence.type !== SentenceSplitterSyntax.Sentence) continue;
        const found = passiveVoice(sentence.raw);
        if (found.length <= max) continue;
        const words = found.map(({ index, offset }) => sentence.raw.slice(index, index + offset));
        const start = sentence.range[0] + found[0].index;
        report(node, new RuleError(`passive chain (${words.join(", ")}): name who does it, or split the sentence`, {
          padding: locator.at(start),
        }));
      }
    },
  };
};
