// Package openshift contains a stand-in for OpenShift's requirements on pods.
package openshift

import (
	"bytes"
	_ "embed"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed restricted-v2.yaml
var restrictedV2 []byte

// RestrictedV2 returns the policies that stand in for the restricted-v2 security context constraint. The policies require Kubernetes 1.36.
func RestrictedV2() ([]*unstructured.Unstructured, error) {
	var policies []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(restrictedV2), 4096)
	for {
		policy := &unstructured.Unstructured{}
		err := decoder.Decode(policy)
		if errors.Is(err, io.EOF) {
			return policies, nil
		}
		if err != nil {
			return nil, err
		}
		policies = append(policies, policy)
	}
}
