//go:build !linux

package script

import (
	"io/fs"
	"path/filepath"
)

// count adds up what a folder holds, until that is over the limits.
func count(dir string, limits Limits) (sum usage, err error) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		sum.files++
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum.bytes += info.Size()
		}
		if sum.over(limits) {
			return fs.SkipAll
		}
		return nil
	})
	return sum, nil
}
