//go:build !unix

package cookie

import "errors"

const noFollow = 0

var errLink = errors.New("a link")
