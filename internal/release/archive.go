package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"time"
)

// A file is one in an archive.
type file struct {
	name string
	text []byte
	mode int64
}

// then is the time of every file in an archive. npm gives its packages this one.
var then = time.Date(1985, time.October, 26, 8, 15, 0, 0, time.UTC)

// writeTar writes files in their order as a compressed archive.
func writeTar(path string, files []file) error {
	var to bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&to, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		head := tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: then, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(&head); err != nil {
			return err
		}
		if _, err := archive.Write(f.text); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, to.Bytes(), 0o644)
}

// writeZip writes files in their order as a zip file.
func writeZip(path string, files []file) error {
	var to bytes.Buffer
	archive := zip.NewWriter(&to)
	for _, f := range files {
		head := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: then}
		head.SetMode(os.FileMode(f.mode))
		w, err := archive.CreateHeader(&head)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.text); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, to.Bytes(), 0o644)
}
