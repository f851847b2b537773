// Package resp is the Redis door.
package resp
