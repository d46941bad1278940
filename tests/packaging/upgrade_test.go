package packaging

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
)

type (
	definition = apiextensionsv1.CustomResourceDefinition
	property   = apiextensionsv1.JSONSchemaProps
)

func currentCRD(t *testing.T) *definition {
	t.Helper()
	crd := read[definition](t, "config", "crd", "bases", "example.com_echoes.yaml")
	return &crd
}

// TestUpgradeFromEveryRelease checks that OLM v1 accepts the current CRD as an upgrade from the CRD of every release. OLM v1 rejects an
// upgrade if the new CRD could make existing Echoes invalid.
func TestUpgradeFromEveryRelease(t *testing.T) {
	released, _ := filepath.Glob("released/*.yaml")
	if len(released) == 0 {
		t.Skip("no version is released yet")
	}
	for _, file := range released {
		from, to := read[definition](t, "tests", "packaging", file), currentCRD(t)
		if from.Name != to.Name {
			t.Errorf("%s has the CRD %q", file, from.Name)
		}
		for _, reason := range rejections(t, &from, to) {
			t.Errorf("no upgrade from %s: %s", file, reason)
		}
	}
}

// rejections returns the reasons why OLM v1's library would reject an upgrade from one CRD to another. rejections also reports changed
// descriptions and additional enum values, which older versions of the library reject.
func rejections(t *testing.T, from, to *definition) []string {
	t.Helper()
	for _, version := range from.Spec.Versions { // the API server sets the stored versions of an installed CRD
		from.Status.StoredVersions = append(from.Status.StoredVersions, version.Name)
	}
	checker, err := runner.New(&config.Config{}, runner.DefaultRegistry())
	if err != nil {
		t.Fatal(err)
	}
	results := checker.Run(from, to)
	found := failures("the CRD", results.CRDValidation)
	for _, versions := range []map[string]map[string][]validations.ComparisonResult{results.SameVersionValidation,
		results.ServedVersionValidation} {
		for version, properties := range versions {
			for path, compared := range properties {
				found = append(found, failures(version+" "+path, compared)...)
			}
		}
	}
	return found
}

func failures(of string, compared []validations.ComparisonResult) []string {
	var found []string
	for _, result := range compared {
		for _, reason := range result.Errors {
			found = append(found, of+": "+result.Name+": "+reason)
		}
	}
	return found
}

// TestChangesOfSchema checks that docs/explanation/api-stability.md lists exactly these changes, and that OLM v1 accepts or rejects them.
func TestChangesOfSchema(t *testing.T) {
	accepted := map[string]func(*definition){
		"a new optional field": inField("service", func(service *property) { service.Properties["new"] = newObject() }),
		"a higher maximum":     inField("replicas", func(replicas *property) { replicas.Maximum = new(float64(2000)) }),
		"a lower minimum":      inField("port", func(port *property) { port.Minimum = new(float64(0)) }),
	}
	rejected := map[string]func(*definition){
		"a removed field":      inSpec(func(spec *property) { delete(spec.Properties, "image") }),
		"a new required field": inSpec(func(spec *property) { spec.Required = append(spec.Required, "port") }),
		"a changed type":       inField("port", func(port *property) { port.Type = "string" }),
		"a changed default":    inField("port", func(port *property) { port.Default.Raw = []byte("9000") }),
		"a removed enum value": inField("imagePullPolicy", func(policy *property) { policy.Enum = policy.Enum[1:] }),
		"a looser pattern":     inField("image", func(image *property) { image.Pattern = "" }),
		"a looser validation rule": inField("serviceAccountName", func(name *property) {
			name.XValidations = nil
		}),
		"a changed description": inField("paused", func(paused *property) { paused.Description += "!" }),
		"a new enum value": inField("imagePullPolicy", func(policy *property) {
			policy.Enum = append(policy.Enum, apiextensionsv1.JSON{Raw: []byte(`"a"`)})
		}),
	}
	listed := map[string]string{} // by change: the verb
	for _, found := range regexp.MustCompile(`(?m)^- .*? (accepts|rejects?|also reject) (.*)\.$`).FindAllStringSubmatch(
		text(t, "docs", "explanation", "api-stability.md"), -1) {
		for _, change := range regexp.MustCompile(`,? and |, `).Split(found[2], -1) {
			listed[change] = found[1]
		}
	}
	for change, verb := range listed {
		apply := rejected[change]
		if verb == "accepts" {
			apply = accepted[change]
		}
		if apply == nil {
			t.Errorf("no case checks that OLM v1 %s %s", verb, change)
			continue
		}
		from, to := currentCRD(t), currentCRD(t)
		apply(to)
		if reasons := rejections(t, from, to); cmp.Equal(from, to) || (len(reasons) == 0) != (verb == "accepts") {
			t.Errorf("%s: the page says that OLM v1 %s it; rejected because of %q", change, verb, reasons)
		}
	}
	if len(listed) != len(accepted)+len(rejected) {
		t.Errorf("the page lists %d changes, want %d", len(listed), len(accepted)+len(rejected))
	}
}

// TestRules_haveReasons checks that each pattern, rule, and enum of the schema has a reason why it never needs to be loosened.
func TestRules_haveReasons(t *testing.T) {
	frozen := read[map[string]map[string]string](t, "tests", "packaging", "testdata", "frozen.yaml")
	used := map[string]bool{}
	explain := func(path, kind string, matches func(name string) bool) {
		for name, reason := range frozen[kind] {
			if matches(name) && len(reason) > 15 {
				used[name] = true
				return
			}
		}
		t.Errorf("%s: frozen.yaml has no reason under %s", path, kind)
	}
	eachField("", currentCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, schema *property) {
		if schema.Pattern != "" {
			explain(path, "patterns", func(name string) bool { return name == schema.Pattern })
		}
		if schema.Enum != nil {
			explain(path, "enums", func(name string) bool { return name == path })
		}
		for _, rule := range schema.XValidations {
			explain(path, "rules", func(name string) bool { return strings.HasPrefix(rule.Message, name) })
		}
	})
	for kind, reasons := range frozen {
		for name := range reasons {
			if !used[name] {
				t.Errorf("frozen.yaml explains %s %s, which the schema does not have", kind, name)
			}
		}
	}
}

// TestGrowth_isAccepted checks that OLM v1 accepts each field that a later version may add. The integration tests check that no rule of
// the schema rejects Echoes with these fields.
func TestGrowth_isAccepted(t *testing.T) {
	for _, grown := range read[[]struct {
		Field  string
		Schema property
	}](t, "tests", "packaging", "testdata", "growth.yaml") {
		from, to := currentCRD(t), currentCRD(t)
		added := false
		eachField("", to.Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, schema *property) {
			if name, found := strings.CutPrefix(grown.Field, path+"."); found && !strings.Contains(name, ".") {
				schema.Properties[name], added = grown.Schema, true
			}
		})
		if reasons := rejections(t, from, to); !added || len(reasons) > 0 {
			t.Errorf("%s: added: %t; rejected because of %q", grown.Field, added, reasons)
		}
	}
}

// newObject returns the schema of an object with every feature that would be unsafe to add to an existing field.
func newObject() property {
	return property{Type: "object", Required: []string{"a"},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "!has(self.b) || self.a == 'a'"}},
		Properties: map[string]property{
			"a": {Type: "string", Description: "a is new.", Pattern: "^a$", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}},
				XValidations: apiextensionsv1.ValidationRules{{Rule: "self == 'a'"}}},
			"b": {Type: "integer", Minimum: new(float64(1)), Default: &apiextensionsv1.JSON{Raw: []byte("1")}},
		}}
}

// TestDefinition_describesEveryField checks that `kubectl explain` describes every field, including the fields of Kubernetes' own types. The
// API server describes the metadata. A client-side apply stores the definition in an annotation, whose size is limited to 256 KiB.
func TestDefinition_describesEveryField(t *testing.T) {
	schema, fields := currentCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema, 0
	delete(schema.Properties, "metadata")
	eachField("", schema, func(path string, parent *property) {
		for name, field := range parent.Properties {
			fields++
			if !strings.HasSuffix(field.Description, ".") || strings.Contains(field.Description, "\n") {
				t.Errorf("the description of %s.%s is %q", path, name, field.Description)
			}
		}
	})
	if fields < 200 {
		t.Errorf("only %d fields were found", fields)
	}
	if size := len(text(t, "config", "crd", "bases", "example.com_echoes.yaml")); size > 180_000 {
		t.Errorf("the definition has %d bytes", size)
	}
}

// TestDefaults_areThoseThatStay checks that the schema has no defaults other than the listed ones. GitOps tools report a default as a
// difference if the field is in a list, or in an object that may be absent. The console's form also sends the defaults of such fields.
func TestDefaults_areThoseThatStay(t *testing.T) {
	var found []string
	eachField("", currentCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, schema *property) {
		if schema.Default != nil {
			found = append(found, path)
		}
	})
	want := []string{"spec.disruptionBudget", "spec.disruptionBudget.enabled", "spec.disruptionBudget.maxUnavailable", "spec.port", "spec.replicas",
		"spec.server", "spec.server.controls", "spec.server.identity", "spec.service", "spec.service.port", "spec.service.type"}
	if slices.Sort(found); !slices.Equal(found, want) {
		t.Errorf("the fields with a default are %q, want %q", found, want)
	}
}

// TestNumbers_fitTheirType checks that every 32-bit number has a maximum, because Kubernetes 1.30 does not enforce the format. The operator
// cannot decode a list of Echoes in which a number is too large.
func TestNumbers_fitTheirType(t *testing.T) {
	eachField("", currentCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, schema *property) {
		if strings.HasPrefix(path, "spec.") && schema.Format == "int32" && schema.Maximum == nil {
			t.Errorf("%s has the format int32, but no maximum", path)
		}
	})
}

// eachField calls a function for a schema and all fields inside.
func eachField(path string, schema *property, do func(path string, schema *property)) {
	do(strings.TrimPrefix(path, "."), schema)
	for name, field := range schema.Properties {
		eachField(path+"."+name, &field, do)
	}
	if schema.Items != nil {
		eachField(path+"[]", schema.Items.Schema, do)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		eachField(path+"{}", schema.AdditionalProperties.Schema, do)
	}
}

// inSpec returns a function that changes the schema of the spec.
func inSpec(change func(spec *property)) func(*definition) {
	return func(crd *definition) { changeIn(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "spec", change) }
}

// inField returns a function that changes the schema of a field in the spec.
func inField(name string, change func(field *property)) func(*definition) {
	return inSpec(func(spec *property) { changeIn(spec, name, change) })
}

func changeIn(parent *property, name string, change func(*property)) {
	child := parent.Properties[name]
	change(&child)
	parent.Properties[name] = child
}
