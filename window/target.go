package window

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Where the endpoint answers, besides /metrics.
const (
	echoesPath      = "/echoes"
	diagnosticsPath = "/diagnostics"
	logLevelPath    = "/log-level"
)

// target is which Echoes a request is about: one, or with no name all of a namespace, or with no namespace all.
type target struct{ namespace, name string }

// targetOf reads of a request which Echoes it is about, and whether it is about any.
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

// check says what is wrong with a target, nil if nothing is.
func (t target) check() error {
	if t.namespace == "" {
		return nil
	}
	if problems := validation.IsDNS1123Label(t.namespace); problems != nil {
		return fmt.Errorf("namespace: %q is not the name of a namespace: %s", t.namespace, problems[0])
	}
	return nil
}

// attributes are what somebody must be allowed to do for a request: to list Echoes or to get one, like with the API server, and else
// to use the path.
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
