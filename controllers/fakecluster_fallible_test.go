package controllers

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrRefused is the error that failing requests return.
var ErrRefused = errors.New("refused")

// Fallible counts the reads of a world, and makes one of them fail.
type Fallible struct {
	// Reads contains the reads so far.
	Reads []string
	// Fails is the number of the read that fails, counted from 1. If Fails is 0, no read fails.
	Fails int
}

// read counts a read and returns its error.
func (f *Fallible) read(what string) error {
	f.Reads = append(f.Reads, what)
	if len(f.Reads) == f.Fails {
		return ErrRefused
	}
	return nil
}

// Over returns a client that forwards reads to another client. The where argument names the source of the reads: the cache or the API
// server.
func (f *Fallible) Over(c client.WithWatch, where string) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := f.read(fmt.Sprintf("%s: get %T", where, object)); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := f.read(fmt.Sprintf("%s: list %T", where, list)); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	})
}

// FailRead makes one of a world's reads fail. Reads are numbered from 1.
func (w *World) FailRead(number int) *Fallible {
	f := &Fallible{Fails: number}
	w.Cache = f.Over(w.Cache, "cache")
	w.Dependencies.Client, w.Dependencies.Live = w.Cache, f.Over(w.Server, "API server")
	return f
}
