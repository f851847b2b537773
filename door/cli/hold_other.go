//go:build !unix

package cli

import "os"

// A file that is open cannot be removed here, so nothing else holds it; nor can it get another name.

func hold(*os.File) bool { return true }

func removeFree(name string) bool { return os.Remove(name) == nil }

func renameHeld(f *os.File, name string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
