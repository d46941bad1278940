package children

import (
	_ "embed" // for the schema
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

//go:embed schema.yaml
var schemaOfChildren string

// Schema compares objects as server-side apply does. It knows by which keys the items of a list are merged, and which lists and maps
// are set as a whole.
type Schema struct {
	types func() managedfields.TypeConverter
}

// NewSchema returns the schema of the kinds of children. The scheme must have these kinds. The schema is read when it is first used, which
// takes about 0.02 s of CPU time.
func NewSchema(scheme *runtime.Scheme) Schema {
	return Schema{sync.OnceValue(func() managedfields.TypeConverter {
		parser, err := typed.NewParser(typed.YAMLObject(schemaOfChildren))
		if err != nil {
			panic(err) // a defect: the schema is a part of the program
		}
		return managedfields.NewSchemeTypeConverter(scheme, parser)
	})}
}

// Prepare reads the schema, so that the first comparison does not.
func (s Schema) Prepare() { s.types() }
