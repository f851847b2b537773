package value

// Op is an operator of two operands.
type Op uint8

// The operators. And, Or and Coalesce are evaluated by the compiler, for they
// do not always look at their right side.
const (
	NoOp Op = iota
	Add
	Sub
	Mul
	Div
	Mod
	Pow
	Shl
	Shr
	BitAnd
	BitOr
	BitXor
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	In
	NotIn
	RangeOp
	RangeInclOp
	And
	Or
	Coalesce
)

var opNames = [...]string{"", "+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "in", "!in", "..",
	"..=", "&&", "||", "??"}

// String gives the operator as it is written.
func (o Op) String() string { return opNames[o] }

// OpOf finds an operator, NoOp for one that is not built in.
func OpOf(name string) Op {
	for o, n := range opNames {
		if n == name && o > 0 {
			return Op(o)
		}
	}
	return NoOp
}
