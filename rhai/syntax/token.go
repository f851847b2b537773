package syntax

import "strings"

// This file names the tokens and what the parser must know of each.

type kind uint8

const (
	tEOF kind = iota
	tError
	tComment  // a documentation comment; others are skipped
	tIdent    // a name
	tReserved // a word or symbol that means nothing
	tCustom   // a word or symbol of the host
	tInt
	tFloat
	tChar
	tString
	tInterpolated // text up to a ${
	tRaw          // one character, for custom syntax

	tLeftBrace
	tRightBrace
	tLeftParen
	tRightParen
	tLeftBracket
	tRightBracket
	tUnit
	tSemicolon
	tColon
	tDoubleColon
	tArrow
	tUnderscore
	tComma
	tPeriod
	tElvis
	tQuestionBracket
	tMapStart

	tPlus
	tUnaryPlus
	tMinus
	tUnaryMinus
	tMultiply
	tDivide
	tModulo
	tPower
	tShiftLeft
	tShiftRight
	tCoalesce
	tRange
	tRangeInclusive
	tLess
	tGreater
	tLessEqual
	tGreaterEqual
	tEqual
	tNotEqual
	tBang
	tPipe
	tOr
	tXor
	tAmpersand
	tAnd
	tIn
	tNotIn

	tAssign
	tPlusAssign
	tMinusAssign
	tMultiplyAssign
	tDivideAssign
	tModuloAssign
	tPowerAssign
	tShiftLeftAssign
	tShiftRightAssign
	tAndAssign
	tOrAssign
	tXorAssign

	tTrue
	tFalse
	tLet
	tConst
	tIf
	tElse
	tSwitch
	tDo
	tWhile
	tUntil
	tLoop
	tFor
	tContinue
	tBreak
	tReturn
	tThrow
	tTry
	tCatch
	tFn
	tPrivate
	tImport
	tExport
	tAs
	kinds
)

// spelling of the tokens that are always written alike.
var spelling = [kinds]string{
	tLeftBrace: "{", tRightBrace: "}", tLeftParen: "(", tRightParen: ")",
	tLeftBracket: "[", tRightBracket: "]", tUnit: "()", tSemicolon: ";",
	tColon: ":", tDoubleColon: "::", tArrow: "=>", tUnderscore: "_",
	tComma: ",", tPeriod: ".", tElvis: "?.", tQuestionBracket: "?[", tMapStart: "#{",
	tPlus: "+", tUnaryPlus: "+", tMinus: "-", tUnaryMinus: "-", tMultiply: "*",
	tDivide: "/", tModulo: "%", tPower: "**", tShiftLeft: "<<", tShiftRight: ">>",
	tCoalesce: "??", tRange: "..", tRangeInclusive: "..=", tLess: "<", tGreater: ">",
	tLessEqual: "<=", tGreaterEqual: ">=", tEqual: "==", tNotEqual: "!=", tBang: "!",
	tPipe: "|", tOr: "||", tXor: "^", tAmpersand: "&", tAnd: "&&", tIn: "in", tNotIn: "!in",
	tAssign: "=", tPlusAssign: "+=", tMinusAssign: "-=", tMultiplyAssign: "*=",
	tDivideAssign: "/=", tModuloAssign: "%=", tPowerAssign: "**=", tShiftLeftAssign: "<<=",
	tShiftRightAssign: ">>=", tAndAssign: "&=", tOrAssign: "|=", tXorAssign: "^=",
	tTrue: "true", tFalse: "false", tLet: "let", tConst: "const", tIf: "if", tElse: "else",
	tSwitch: "switch", tDo: "do", tWhile: "while", tUntil: "until", tLoop: "loop", tFor: "for",
	tContinue: "continue", tBreak: "break", tReturn: "return", tThrow: "throw", tTry: "try",
	tCatch: "catch", tFn: "fn", tPrivate: "private", tImport: "import", tExport: "export", tAs: "as",
}

// precedence of the binary operators; 0 for all else.
var precedence = [kinds]uint8{
	tOr: 30, tXor: 30, tPipe: 30,
	tAnd: 60, tAmpersand: 60,
	tEqual: 90, tNotEqual: 90,
	tIn: 110, tNotIn: 110,
	tLess: 130, tLessEqual: 130, tGreater: 130, tGreaterEqual: 130,
	tCoalesce: 135,
	tRange:    140, tRangeInclusive: 140,
	tPlus: 150, tMinus: 150,
	tMultiply: 180, tDivide: 180, tModulo: 180,
	tPower:     190,
	tShiftLeft: 210, tShiftRight: 210,
}

// beforeUnary tells after which tokens a sign belongs to what follows.
var beforeUnary = [kinds]bool{
	tError: true, tSemicolon: true, tColon: true, tComma: true, tCoalesce: true,
	tRange: true, tRangeInclusive: true, tLeftBrace: true, tLeftParen: true,
	tLeftBracket: true, tQuestionBracket: true,
	tPlus: true, tPlusAssign: true, tUnaryPlus: true, tMinus: true, tMinusAssign: true,
	tUnaryMinus: true, tMultiply: true, tMultiplyAssign: true, tDivide: true,
	tDivideAssign: true, tModulo: true, tModuloAssign: true, tPower: true, tPowerAssign: true,
	tShiftLeft: true, tShiftLeftAssign: true, tShiftRight: true, tShiftRightAssign: true,
	tAssign: true, tEqual: true, tNotEqual: true, tLess: true, tGreater: true, tBang: true,
	tLessEqual: true, tGreaterEqual: true, tPipe: true, tAmpersand: true, tIf: true,
	tWhile: true, tUntil: true, tIn: true, tNotIn: true, tAnd: true, tAndAssign: true,
	tOr: true, tOrAssign: true, tXor: true, tXorAssign: true, tReturn: true, tThrow: true,
}

// opAssign tells the operator of an assignment with one.
func opAssign(k kind) (string, bool) {
	if k < tPlusAssign || k > tXorAssign {
		return "", false
	}
	s := spelling[k]
	return s[:len(s)-1], true
}

// standardKeyword is true of the keywords that cannot be parameters. Without
// switch, as in the reference.
func standardKeyword(k kind) bool {
	return (k >= tTrue && k < kinds && k != tSwitch) || k == tIn
}

// standardSymbol is true of the operators and signs that $symbol$ matches.
func standardSymbol(k kind) bool {
	return k >= tLeftBrace && k <= tXorAssign &&
		k != tUnit && k != tArrow && k != tUnderscore && k != tIn && k != tNotIn
}

// Of reserved words: what they still may be used for.
const (
	isReserved = 1 << iota
	isCallable // as a function
	isMethod   // and in method style
)

// reservedWord tells about words and symbols that are set aside.
func reservedWord(s string) int {
	if len(s) == 0 || len(s) > 10 {
		return 0
	}
	switch s {
	case "print", "debug", "eval", "Fn", "is_def_var", "is_def_fn":
		return isReserved | isCallable
	case "type_of", "call", "curry", "is_shared":
		return isReserved | isCallable | isMethod
	case "var", "static", "is", "shared", "sync", "async", "await", "goto", "go",
		"match", "case", "default", "new", "use", "with", "module", "package", "super",
		"thread", "spawn", "protected", "public", "void", "null", "nil", "yield", "this",
		"?", "#", "#!", "===", "!==", "++", "--", "~", "@", "$", "->", "<-", ":=", ":;",
		"::<", "<|", "|>", "!.", "...", "(*", "*)":
		return isReserved
	}
	return 0
}

// keyword gives the token of a keyword, tIdent for other words.
func keyword(s string) kind {
	switch len(s) {
	case 1:
		if s == "_" {
			return tUnderscore
		}
	case 2:
		switch s {
		case "if":
			return tIf
		case "in":
			return tIn
		case "fn":
			return tFn
		case "do":
			return tDo
		case "as":
			return tAs
		}
	case 3:
		switch s {
		case "let":
			return tLet
		case "for":
			return tFor
		case "try":
			return tTry
		}
	case 4:
		switch s {
		case "true":
			return tTrue
		case "else":
			return tElse
		case "loop":
			return tLoop
		}
	case 5:
		switch s {
		case "false":
			return tFalse
		case "const":
			return tConst
		case "while":
			return tWhile
		case "until":
			return tUntil
		case "break":
			return tBreak
		case "throw":
			return tThrow
		case "catch":
			return tCatch
		}
	case 6:
		switch s {
		case "return":
			return tReturn
		case "switch":
			return tSwitch
		case "import":
			return tImport
		case "export":
			return tExport
		}
	case 7:
		if s == "private" {
			return tPrivate
		}
	case 8:
		if s == "continue" {
			return tContinue
		}
	}
	return tIdent
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// validName tells whether s may name a variable or a function, keywords apart.
func validName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isWordByte(s[i]) {
			return false
		}
	}
	s = strings.TrimLeft(s, "_") // a letter comes before any digit
	return s != "" && isLetter(s[0])
}

// ValidFunctionName tells whether a script may define a function of that name.
func ValidFunctionName(s string) bool { return validFunctionName(s) }

// InUse tells whether s is a word or symbol that the language uses.
func InUse(s string) bool {
	if k := keyword(s); k != tIdent {
		return standardKeyword(k)
	}
	for k := tLeftBrace; k < kinds; k++ {
		if spelling[k] == s {
			return standardSymbol(k)
		}
	}
	return false
}

// Reserved tells whether s is a word or symbol of the language, in use or set aside.
func Reserved(s string) bool {
	if reservedWord(s) != 0 || keyword(s) != tIdent {
		return true
	}
	for k := tLeftBrace; k < kinds; k++ {
		if spelling[k] == s {
			return true
		}
	}
	return false
}

func validFunctionName(s string) bool {
	return validName(s) && reservedWord(s) == 0 && keyword(s) == tIdent
}
