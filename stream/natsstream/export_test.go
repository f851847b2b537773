package natsstream

import "github.com/ramet-run/ramet/stream"

// Damage is what is wrong with the files of the streams in a data folder.
func Damage(dir string) (texts []string, err error) {
	folder := Config{DataDir: dir}.folder()
	for _, name := range stream.Names {
		s, err := checkFiles(folder, name, nil)
		if err != nil {
			return nil, err
		}
		texts = append(texts, s.texts()...)
	}
	return texts, nil
}
