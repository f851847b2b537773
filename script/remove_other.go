//go:build !linux

package script

import "os"

// RemoveFolder removes a script's work folder with all that is in it. A folder
// that is not there is no error.
func RemoveFolder(dir string) error { return os.RemoveAll(dir) }
