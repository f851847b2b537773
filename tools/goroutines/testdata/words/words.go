// Package words uses words of a package that would call it back.
package words

import web "net/http"

// Status is one of its words.
const Status = web.StatusTeapot
