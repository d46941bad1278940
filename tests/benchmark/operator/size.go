package main

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
)

// size measures the size of the operator's program, uncompressed and compressed. The operator's image contains nothing else.
func (b *benchmark) size(context.Context) error {
	program, err := os.Open(b.manager)
	if err != nil {
		return err
	}
	defer func() { _ = program.Close() }() // errors do not matter, because the file is only read
	compressed := new(counter)
	z, err := gzip.NewWriterLevel(compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	size, err := io.Copy(z, program)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	const mega = 1e6
	b.figures.Add("size.binary", float64(size)/mega)
	b.figures.Add("size.compressed", float64(*compressed)/mega)
	return nil
}

// counter counts the bytes written to it.
type counter int64

// Write counts bytes.
func (c *counter) Write(data []byte) (int, error) {
	*c += counter(len(data))
	return len(data), nil
}
