package apply

import (
	_ "embed" // for the schemas
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/echo-operator/echo-operator/internal/children"
)

var (
	//go:embed schema.yaml
	schemaOfChildren string
	//go:embed schema_gateway.yaml
	schemaOfGatewayAPI string
)

// Schema compares objects, following the rules of server-side apply. It knows which keys identify list items that are merged, and which
// lists and maps are replaced as a whole.
type Schema struct {
	types, gatewayTypes func() managedfields.TypeConverter
}

// NewSchema returns the schema for all kinds of children. These kinds must be registered in the scheme. The schema is parsed on first use,
// which takes about 0.02 s of CPU time. The Gateway API schema is parsed only if there are routes.
func NewSchema(scheme *runtime.Scheme) Schema {
	return Schema{types: converter(scheme, schemaOfChildren), gatewayTypes: converter(scheme, schemaOfGatewayAPI)}
}

func converter(scheme *runtime.Scheme, schema string) func() managedfields.TypeConverter {
	return sync.OnceValue(func() managedfields.TypeConverter {
		parser, err := typed.NewParser(typed.YAMLObject(schema))
		if err != nil {
			panic(err) // a defect in this program, because the schema is embedded in it
		}
		return managedfields.NewSchemeTypeConverter(scheme, parser)
	})
}

// Prepare parses the schema of the kinds that all clusters serve, before the first comparison needs it.
func (s Schema) Prepare() { s.types() }

// of returns the set of types that contains the kind of a child.
func (s Schema) of(c children.Child) managedfields.TypeConverter {
	if c.Optional {
		return s.gatewayTypes()
	}
	return s.types()
}
