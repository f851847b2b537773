package syntax

import (
	"fmt"
	"strings"
)

// This file makes the errors of scanner and parser, with the reference's texts.

// problem is an error that the scanner met, before it has a place.
type problem struct{ kind, text string }

func unexpected(s string) problem {
	return problem{"BadInput/UnexpectedInput", "Unexpected '" + s + "'"}
}

func badNumber(s string) problem {
	return problem{"BadInput/MalformedNumber", "Invalid number: '" + s + "'"}
}

func badEscape(s string) problem {
	return problem{"BadInput/MalformedEscapeSequence", "Invalid escape sequence: '" + s + "'"}
}

func badChar(s string) problem {
	return problem{"BadInput/MalformedChar", "Invalid character: '" + s + "'"}
}

func openString() problem {
	return problem{"BadInput/UnterminatedString", "Open string is not terminated"}
}

func improper(symbol, why string) problem {
	if why == "" {
		why = "Invalid symbol encountered: '" + symbol + "'"
	}
	return problem{"BadInput/ImproperSymbol", why}
}

func tooLarge(what string, limit int) problem {
	return problem{"LiteralTooLarge", fmt.Sprintf("%s exceeds the maximum limit (%d)", what, limit)}
}

// scanText is the text of a problem that the scanner tells, not the parser.
func (p problem) scanText() string {
	if limit, ok := strings.CutPrefix(p.text, "Length of string exceeds the maximum limit "); ok {
		return "String is too long (max " + limit[1:]
	}
	return p.text
}

func reserved(s string) problem {
	if validName(s) {
		return problem{"Reserved", "'" + s + "' is a reserved keyword"}
	}
	return problem{"Reserved", "'" + s + "' is a reserved symbol"}
}

func missing(token, why string) problem {
	return problem{"MissingToken", "Expecting '" + token + "' " + why}
}

var (
	incomplete       = problem{"UnexpectedEOF", "Script is incomplete"}
	propertyExpected = problem{"PropertyExpected", "Expecting name of a property"}
	variableExpected = problem{"VariableExpected", "Expecting name of a variable"}
	tooMuchMemory    = problem{TooLarge, "Script takes more memory than it may"}
	tooDeep          = problem{"ExprTooDeep", "Expression exceeds maximum complexity"}
	tooManyFunctions = problem{"TooManyFunctions", "Number of functions defined exceeds maximum limit"}
	wrongDocComment  = problem{"WrongDocComment", "Doc-comment must be followed immediately by a function definition"}
	typoOfEquals     = improper("=", "Possibly a typo of '=='?")
	invalidTarget    = problem{"AssignmentToInvalidLHS", "Expression cannot be assigned to"}
)

func exprExpected(what string) problem {
	return problem{"ExprExpected", "Expecting " + what + " expression"}
}

func mismatched(wanted, got string) problem {
	return problem{"MismatchedType", "Expecting " + wanted + ", not " + got}
}

func undefinedVariable(name string) problem {
	return problem{"VariableUndefined", "Undefined variable: " + name}
}

func duplicatedParam(fn, name string) problem {
	return problem{"FnDuplicatedParam", "Duplicated parameter " + name + " for function " + fn}
}

func duplicatedFunction(name string, params int) problem {
	count := fmt.Sprint(params, " parameters")
	switch params {
	case 0:
		count = "no parameters"
	case 1:
		count = "1 parameter"
	}
	return problem{"FnDuplicatedDefinition", "Function " + name + " with " + count + " already exists"}
}

func constantTarget(name string) problem {
	if name == "" {
		return problem{"AssignmentToConstant", "Cannot assign to a constant value"}
	}
	return problem{"AssignmentToConstant", "Cannot assign to constant " + name}
}
