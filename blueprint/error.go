package blueprint

import (
	"strconv"

	"github.com/ramet-run/ramet/document"
)

// Error is all that is wrong with a blueprint. It is a [domain.ErrInvalid].
type Error = document.Error

// stepPath is the path of a step's field.
func stepPath(i int, field string) string { return "steps[" + strconv.Itoa(i) + "]." + field }
