package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOptions(t *testing.T) {
	type said struct {
		kind, namespace, selector string
		json                      bool
	}
	for name, c := range map[string]struct {
		arguments string
		want      said
		wrong     string // the error
	}{
		"a kind":              {arguments: "pods", want: said{kind: "Pod"}},
		"flags after it":      {arguments: "echoes -n default -l app=web,tier!=cache -o json", want: said{"Echo", "default", "app=web,tier!=cache", true}},
		"flags before it":     {arguments: "--namespace=default --selector app -ojson deployments", want: said{"Deployment", "default", "app", true}},
		"nodes":               {arguments: "nodes -l x=y", want: said{kind: "Node", selector: "x=y"}},
		"no kind":             {wrong: "watch takes one of pods, nodes, deployments, echoes, not nothing"},
		"an unknown kind":     {arguments: "secrets", wrong: `watch takes one of pods, nodes, deployments, echoes, not "secrets"`},
		"two kinds":           {arguments: "pods nodes", wrong: `not "pods nodes"`},
		"an unknown flag":     {arguments: "pods --follow", wrong: "unknown flag: --follow"},
		"an unknown letter":   {arguments: "pods -f", wrong: "unknown shorthand flag: 'f' in -f"},
		"a flag without more": {arguments: "pods -n", wrong: "flag needs an argument: 'n' in -n"},
		"nodes' namespace":    {arguments: "nodes -n default", wrong: "--namespace: nodes are in no namespace: leave it out"},
		"no namespace's name": {arguments: "pods -n A_B", wrong: `--namespace: "A_B" is not the name of a namespace`},
		"an empty namespace":  {arguments: "pods --namespace=", wrong: `--namespace: "" is not the name of a namespace`},
		"a bad selector":      {arguments: "pods -l a=b=c", wrong: `--selector: "a=b=c" is not a label selector such as app=web,tier!=cache`},
		"another format":      {arguments: "pods -o yaml", wrong: `--output: "yaml" is not a format: there is json`},
		"help":                {arguments: "--help", wrong: "help requested"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := ParseOptions(strings.Fields(c.arguments))
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%v instead of %s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, said{o.kind.kind, o.namespace, o.selector, o.json}, cmp.AllowUnexported(said{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageHasKindsAndFlags(t *testing.T) {
	for _, want := range []string{"pods|nodes|deployments|echoes", "-n, --namespace", "-l, --selector", "-o, --output"} {
		if !strings.Contains(Usage(), want) {
			t.Errorf("%s is missing in:\n%s", want, Usage())
		}
	}
}
