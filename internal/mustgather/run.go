// Package mustgather collects diagnostic data about the operator and its Echoes for a bug report.
//
// The data excludes Secrets, arguments, response bodies, and the values of environment variables.
package mustgather

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/echo-operator/echo-operator/internal/process"
)

const usage = "gather [flags]"

// options holds the settings from the command line.
type options struct {
	namespaces        []string
	operatorNamespace string
	folder            string
	metricsAccount    string
	timeout           time.Duration
	version           string // the version of this program
}

func parse(version string, arguments []string, getenv func(string) string, out io.Writer) (options, error) {
	o, folder := options{version: version}, "must-gather-"+time.Now().UTC().Format("20060102-150405")
	if getenv("KUBERNETES_SERVICE_HOST") != "" {
		folder = "/must-gather" // oc copies this directory
	}
	flags := pflag.NewFlagSet("gather", pflag.ContinueOnError)
	flags.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "the `NAMESPACES` of the Echoes, separated by commas; all if not set")
	flags.StringVar(&o.operatorNamespace, "operator-namespace", "", "the operator's `NAMESPACE`; found automatically if not set")
	flags.StringVar(&o.folder, "dest-dir", folder, "the `DIRECTORY` to write to")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute,
		"the maximum time for reading, a `DURATION` such as 90s; data that was read by then is written")
	flags.StringVar(&o.metricsAccount, "metrics-account", "",
		"a service account, as `NAMESPACE/NAME`, that may read the operator's metrics: "+
			"must-gather requests a token that is valid for ten minutes. In a pod, it uses the pod's token; elsewhere, it reads no metrics without this flag")
	err := process.ParseFlags(flags, usage, version, arguments, out)
	if err == nil && flags.NArg() > 0 {
		err = &process.UsageError{Usage: usage, Err: fmt.Errorf("unknown argument %q", flags.Arg(0))}
	}
	return o, err
}

// Run collects all data. It fails only if nothing can be read, or if a file cannot be written. The output lists the data that could not be
// read.
func Run(ctx context.Context, version string, arguments []string, getenv func(string) string, out io.Writer) error {
	o, err := parse(version, arguments, getenv, out)
	if err != nil {
		return err
	}
	g, err := newGatherer(o, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if err := g.connect(ctx); err != nil {
		return err
	}
	g.gather(ctx)
	return g.finish()
}

func newGatherer(o options, out io.Writer) (*gatherer, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster was found; set KUBECONFIG: %w", err)
	}
	config.UserAgent, config.WarningHandler = "echo-operator-must-gather/"+o.version, rest.NoWarnings{}
	config.Timeout, config.QPS, config.Burst = requestTimeout, 50, 100
	g := &gatherer{options: o, config: config, out: out, found: map[string][]object{}}
	if g.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if g.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	g.redactor, err = newRedactor()
	return g, err
}
