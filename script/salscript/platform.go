package salscript

import (
	"fmt"
	"runtime"
)

func platformFunctions() []function {
	is := func(known string, names ...string) func() bool {
		return func() bool {
			for _, name := range names {
				if known == name {
					return true
				}
			}
			return false
		}
	}
	return []function{
		{"platform_is_osx", is(runtime.GOOS, "darwin")}, {"platform_is_linux", is(runtime.GOOS, "linux")},
		{"platform_is_arm", is(runtime.GOARCH, "arm", "arm64")}, {"platform_is_x86", is(runtime.GOARCH, "amd64", "386")},
		{"platform_check_linux_x86", wantPlatform("linux", "amd64")}, {"platform_check_macos_arm", wantPlatform("darwin", "arm64")},
	}
}

func wantPlatform(system, processor string) func() error {
	return func() error {
		if runtime.GOOS != system || runtime.GOARCH != processor {
			return fmt.Errorf("this is %s on %s; the script wants %s on %s", runtime.GOOS, runtime.GOARCH, system, processor)
		}
		return nil
	}
}
