// Package client is how Go programs talk to a Ramet node: over TCP with a
// token, or over the socket in a node's data folder with the cookie beside it,
// which only the folder's owner can read.
//
//	c, err := client.New(client.Config{Socket: "/var/lib/ramet/ramet.sock"})
//	...
//	done, err := c.Submit(ctx, 1, []api.JobInput{{Job: domain.Job{Script: "echo hello", ScriptType: "shell"}}})
//
// The methods of [Client] are for what is asked often, and for what takes more than one
// request. [Call] does any operation of package api.
//
// A client is safe for use by many goroutines and starts none. It repeats
// nothing by itself, but for [Client.FollowLogs], [Client.Wait] and
// [Circle.Wait], which take up again where a broken connection left them.
//
// # Errors
//
// What a node refuses is an [*Error]; it unwraps to one of the kinds of
// package domain. A node that cannot be reached is [domain.ErrUnavailable].
package client
