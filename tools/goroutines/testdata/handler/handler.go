// Package handler is called back by a server.
package handler

import web "net/http"

// Serve serves.
func Serve() error { return web.ListenAndServe("", nil) }
