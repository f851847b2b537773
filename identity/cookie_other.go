//go:build !unix

package identity

import "errors"

const noFollow = 0

var errLink = errors.New("a link")
