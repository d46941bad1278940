package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Labeled returns the cache of pods with a companion label. The cache supports only reads.
func (w *World) Labeled() cache.Cache { return readerCache{reader: w.Cache} }

type readerCache struct {
	cache.Cache
	reader client.Reader
}

// Get implements client.Reader.
func (c readerCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (c readerCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.reader.List(ctx, list, options...)
}
