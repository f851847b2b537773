// Package syntax reads Rhai: it cuts a text into tokens, parses them into a
// tree, and writes trees back as text.
//
//	text --scanner--> tokens --parser--> *Program --printer--> text
//
// The answers are those of the language's reference without its optimizer: which
// texts are wrong, with which kind of error, which words and at which place.
// Where the reference is odd and scripts can see it, so is this package; such
// places are marked "quirk".
//
// The scanner works on bytes and makes one token at a time, because the parser
// switches it: inside a back-tick text to literal text, inside a custom syntax
// to single characters. Whether a minus belongs to a number depends on the
// token before.
//
// The parser goes down by recursion, with precedence climbing for operators.
// Its functions give nil when the text is wrong and leave the reason in the
// parser; the first reason wins. What a construct may do (jump out of a loop,
// use this, define functions) and how deep it stands travels down in a ctx, by
// value. What was declared so far stands in a scope: it finds constants that
// are assigned to, names that closures capture and, on demand, names that do
// not exist.
//
// Depth is counted as in the reference, where every operator of a chain counts
// as well; an own bound holds where the options set none, so that no text
// exhausts the stack. Time and memory are linear in the text, but for names,
// which are looked up among those declared before.
//
// Trees and options are not changed after parsing and may be shared.
package syntax
