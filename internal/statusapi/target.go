package statusapi

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// target selects the Echoes of a request: one Echo, all Echoes in a namespace if there is no name, or all Echoes if there is no namespace.
type target struct{ namespace, name string }

// targetOf returns the target of a request, or false if the request is not about Echoes.
func targetOf(r *http.Request) (target, bool) {
	path, found := strings.CutPrefix(r.URL.Path, echoesPath)
	if !found || path != "" && path[0] != '/' {
		return target{}, false
	}
	if path == "" {
		return target{namespace: r.URL.Query().Get("namespace")}, true
	}
	namespace, name, _ := strings.Cut(path[1:], "/")
	return target{namespace, name}, true
}

func (t target) check() error {
	if t.namespace == "" {
		return nil
	}
	if problems := validation.IsDNS1123Label(t.namespace); problems != nil {
		return fmt.Errorf("namespace: %q is not a valid namespace name: %s", t.namespace, problems[0])
	}
	return nil
}

// attributes returns the permission that a request requires. Requests for Echoes require the same permission to list or get Echoes as in
// the API server, and all other requests require permission to access their path.
func attributes(who user.Info, r *http.Request) authorizer.AttributesRecord {
	asked, isEchoes := targetOf(r)
	if !isEchoes {
		return authorizer.AttributesRecord{User: who, Verb: strings.ToLower(r.Method), Path: r.URL.Path}
	}
	verb := "list"
	if asked.name != "" {
		verb = "get"
	}
	return authorizer.AttributesRecord{
		User: who, Verb: verb, ResourceRequest: true,
		APIGroup: v1.GroupVersion.Group, APIVersion: v1.GroupVersion.Version, Resource: "echoes",
		Namespace: asked.namespace, Name: asked.name,
	}
}
