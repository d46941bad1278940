package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

//go:embed descriptions.yaml
var ownDescriptions []byte

// finishCRD completes a CustomResourceDefinition that controller-gen has generated. A field is a path as in kubectl explain, such as
// spec.env.
//
// finishCRD adds the object's name to the schema, so that a rule can report the name as the invalid field. The fields have Kubernetes
// types. Below them, finishCRD replaces each description with the one in descriptions.yaml, because descriptions change with each
// Kubernetes release, and OLM v1 rejects upgrades that change the description of an existing field. A field without a description in
// descriptions.yaml, such as a new field in Kubernetes, is an error. finishCRD removes the defaults below the fields. The defaults are for
// fields in nested objects that do not exist by default. A form that submits these defaults, as the OpenShift console's form does, requests
// a reference to nothing. finishCRD preserves the descriptions of the fields themselves. If a field follows "-", finishCRD removes the
// field, because the field requires another pod field that an Echo does not have. Kubernetes would reject each pod with that field.
func finishCRD(file string, fields []string) error {
	var d descriptions
	if err := yaml.Unmarshal(ownDescriptions, &d.texts); err != nil {
		return err
	}
	crd, err := read[object](file)
	if err != nil {
		return err
	}
	for _, version := range list(crd, "spec", "versions") {
		if err := d.finish(at[object](version, "schema", "openAPIV3Schema"), fields); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(d.missing) > 0 {
		return fmt.Errorf("%s: descriptions.yaml has no description of %s", file, strings.Join(slices.Sorted(slices.Values(d.missing)), ", "))
	}
	return write(file, crd)
}

// descriptions holds the descriptions of fields by the end of the field's path, and the paths of fields without a description.
type descriptions struct {
	texts   map[string]string
	missing []string
}

// finish completes a version's schema.
func (d *descriptions) finish(root object, fields []string) error {
	at[object](root, "properties", "metadata")["properties"] = object{"name": object{"type": "string"}}
	for _, name := range []string{"apiVersion", "kind"} {
		d.describe(at[object](root, "properties", name), name)
	}
	for _, field := range fields {
		field, isRemoved := strings.CutPrefix(field, "-")
		properties, name := parent(root, field)
		schema, found := properties[name].(object)
		switch {
		case !found:
			return fmt.Errorf("it has no field %s", field)
		case isRemoved:
			delete(properties, name)
		default:
			d.rewrite(schema, field)
		}
	}
	return nil
}

// parent returns the properties that contain a field, and the field's name. A path element with the suffix "[]" is a list.
func parent(schema object, field string) (object, string) {
	names := strings.Split(field, ".")
	for _, name := range names[:len(names)-1] {
		name, isList := strings.CutSuffix(name, "[]")
		schema = at[object](schema, "properties", name)
		if isList {
			schema = at[object](schema, "items")
		}
	}
	return at[object](schema, "properties"), names[len(names)-1]
}

// rewrite replaces the descriptions below the field at a path, and changes the schemas there.
func (d *descriptions) rewrite(schema object, path string) {
	for name := range at[object](schema, "properties") {
		property := at[object](schema, "properties", name)
		restrict(property)
		d.rewrite(property, path+"."+name)
		d.describe(property, path+"."+name)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if element, ok := schema[key].(object); ok {
			restrict(element)
			delete(element, "description")
			d.rewrite(element, path)
		}
	}
}

// describe sets the description in the schema of the field at a path. The longest key that matches the path applies.
func (d *descriptions) describe(schema object, path string) {
	for key, found := strings.ReplaceAll(path, "[]", ""), true; found; _, key, found = strings.Cut(key, ".") {
		if text := d.texts[key]; text != "" {
			schema["description"] = text
			return
		}
	}
	d.missing = append(d.missing, path)
}

// restrict removes the default from a schema, and makes sure that the operator can read all values that the schema allows. Otherwise, one
// object would stop the operator in all namespaces, because no list that contains the object can be decoded.
//
// The generated pattern for quantities accepts exponents that resource.Quantity cannot parse, or takes minutes to parse. Quantity is the
// only Kubernetes type that accepts a number or a string with a pattern. Kubernetes 1.30 also accepts numbers with more than 32 bits
// despite the format int32.
func restrict(schema object) {
	delete(schema, "default")
	if schema["x-kubernetes-int-or-string"] == true && schema["pattern"] != nil {
		schema["pattern"] = `^[-+]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,2})?$`
	}
	if schema["format"] == "int32" && schema["maximum"] == nil && schema["minimum"] == nil {
		schema["maximum"], schema["minimum"] = 2147483647, -2147483648
	}
}
