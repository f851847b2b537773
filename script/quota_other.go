//go:build !linux

package script

import (
	"io/fs"
	"path/filepath"
)

// count adds up what a folder holds, until that is over the limits.
func count(dir string, limits Limits) (sum Usage, err error) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		sum.Files++
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum.Bytes += info.Size()
		}
		if sum.Over(limits) {
			return fs.SkipAll
		}
		return nil
	})
	return sum, nil
}
