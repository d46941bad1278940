package objects

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Child describes an object that an Echo has or could have.
type Child struct {
	Kind string
	Key  client.ObjectKey
	// NewObject returns an empty object of the kind, into which the live object can be read.
	NewObject func() client.Object
	// Desired holds exactly the fields that the operator sets. It is nil if the object should not exist.
	Desired *unstructured.Unstructured
	// Optional is true if some clusters do not serve the kind.
	Optional bool
	// Recreate reports whether an object that differs must be recreated instead of updated. Its arguments are the desired JSON, the live
	// JSON, and the fields that the operator owns. It is nil if objects of this kind are always updated.
	Recreate func(desired, live map[string]any, owned *fieldpath.Set) bool
	// MergeLive returns the desired object with the list items that the API server added to the live object. Otherwise, an apply would remove
	// these items from lists that are set as a whole. It does not change its arguments. It is nil if the API server adds no items.
	MergeLive func(desired *unstructured.Unstructured, live client.Object) *unstructured.Unstructured
}

// Body returns the desired object as JSON that is also valid YAML. It adds the given UID and resource version unless they are empty.
func (c Child) Body(uid types.UID, resourceVersion string) ([]byte, error) {
	object := c.Desired.DeepCopy()
	object.SetUID(uid)
	object.SetResourceVersion(resourceVersion)
	body, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", c.Kind, c.Key, err)
	}
	return escaped(body), nil
}

// unlikeYAML matches the characters that are allowed in JSON strings, but are forbidden or changed in YAML strings: the byte order mark,
// noncharacters, and control characters such as the line break U+0085.
var unlikeYAML = regexp.MustCompile(`[\x{7f}-\x{9f}\x{feff}\x{fffe}\x{ffff}]`)

// escaped returns JSON that is also valid YAML. The API server parses the body of an apply request as YAML.
func escaped(body []byte) []byte {
	return unlikeYAML.ReplaceAllFunc(body, func(character []byte) []byte {
		return fmt.Appendf(nil, `\u%04x`, []rune(string(character))[0])
	})
}

// hasTLS reports whether the echo servers of an Echo serve HTTPS.
func hasTLS(spec *v1.EchoSpec) bool { return spec.TLS != nil && spec.TLS.SecretName != "" }

// HasIngress reports whether an Echo has an Ingress.
func HasIngress(echo *v1.Echo) bool {
	return echo.Spec.Ingress != nil && isTrue(echo.Spec.Ingress.Enabled)
}

// HasGateway reports whether an Echo has Gateway API routes.
func HasGateway(echo *v1.Echo) bool {
	return echo.Spec.Gateway != nil && isTrue(echo.Spec.Gateway.Enabled)
}

func isTrue(field *bool) bool { return field != nil && *field }
