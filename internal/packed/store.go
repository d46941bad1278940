package packed

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Store makes the informers of a cache. What is read of them is unpacked; handlers of events get packed objects. Its methods may be called
// concurrently.
type Store struct {
	lock     sync.RWMutex
	indexers []cache.Indexer
}

// NewInformer makes an informer of objects like example.
func (s *Store) NewInformer(lists cache.ListerWatcher, example runtime.Object, resync time.Duration, by cache.Indexers) cache.SharedIndexInformer {
	i := informer{cache.NewSharedIndexInformer(lists, example, resync, by)}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.indexers = append(s.indexers, i.SharedIndexInformer.GetIndexer())
	return i
}

// Versions returns the UIDs and resource versions of all cached objects of a name, always in the same order of their kinds. It unpacks
// nothing.
func (s *Store) Versions(key types.NamespacedName) []string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	name := cache.NewObjectName(key.Namespace, key.Name).String()
	var versions []string
	for _, indexer := range s.indexers {
		held, _, _ := indexer.GetByKey(name) // it returns no error
		if object, ok := held.(client.Object); ok {
			versions = append(versions, string(object.GetUID()), object.GetResourceVersion())
		}
	}
	return versions
}

// informer unpacks what is read of it.
type informer struct{ cache.SharedIndexInformer }

// GetIndexer implements cache.SharedIndexInformer.
func (i informer) GetIndexer() cache.Indexer { return indexer{i.SharedIndexInformer.GetIndexer()} }

// GetStore implements cache.SharedIndexInformer.
func (i informer) GetStore() cache.Store { return i.GetIndexer() }

// indexer unpacks what is read of it.
type indexer struct{ cache.Indexer }

// GetByKey implements cache.Store.
func (i indexer) GetByKey(key string) (any, bool, error) {
	object, exists, err := i.Indexer.GetByKey(key)
	if err != nil || !exists {
		return nil, exists, err
	}
	object, err = Unpack(object)
	return object, true, err
}

// ByIndex implements cache.Indexer.
func (i indexer) ByIndex(name, value string) ([]any, error) {
	objects, err := i.Indexer.ByIndex(name, value)
	if err != nil {
		return nil, err
	}
	return unpackAll(objects)
}

// List implements cache.Store.
func (i indexer) List() []any {
	objects, err := unpackAll(i.Indexer.List())
	if err != nil {
		panic(err) // a defect: they were packed by this process
	}
	return objects
}

func unpackAll(objects []any) ([]any, error) {
	for i := range objects {
		var err error
		if objects[i], err = Unpack(objects[i]); err != nil {
			return nil, err
		}
	}
	return objects, nil
}
