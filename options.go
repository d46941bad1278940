package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const (
	// defaultMaxReplicas bounds what one Echo may ask for, unless the installer says otherwise.
	defaultMaxReplicas = 20
	// mostReplicas is the bound that the schema sets.
	mostReplicas = 1000
)

// options are what the operator is told when it starts.
type options struct {
	metricsAddress          string
	probeAddress            string
	leaderElect             bool
	leaderElectionNamespace string
	namespaces              []string // empty: all
	maxReplicas             int32
	echoServerImage         string
	log                     zap.Options
}

// parseOptions reads the command line; where a flag is not given, the environment counts. An error names the setting and what
// would be right; it is a usageError when the command line itself makes no sense.
func parseOptions(arguments []string, getenv func(string) string) (options, error) {
	o := options{}
	flags, namespaces, limit := o.flags(getenv)
	if err := flags.Parse(arguments); err != nil {
		return o, usageError{err}
	}
	if flags.NArg() > 0 {
		return o, usageError{fmt.Errorf("unexpected argument %q: the operator is set by flags, and a command comes first", flags.Arg(0))}
	}
	if o.echoServerImage == "" {
		return o, errors.New("no echo server image: set RELATED_IMAGE_ECHO_SERVER or --echo-server-image")
	}
	var err error
	if o.namespaces, err = parseNamespaces(*namespaces); err != nil {
		return o, err
	}
	o.maxReplicas, err = parseMaxReplicas(*limit)
	return o, err
}

// logLevel is how much is logged as the process begins: what its flag says, or the default of its mode.
func (o *options) logLevel() zapcore.Level {
	switch {
	case o.log.Level != nil:
		return zapcore.LevelOf(o.log.Level)
	case o.log.Development:
		return zapcore.DebugLevel
	default:
		return zapcore.InfoLevel
	}
}

// flags are the operator's, with the two among them whose text is still to be read.
func (o *options) flags(getenv func(string) string) (flags *flag.FlagSet, namespaces, limit *string) {
	flags = flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said once, by whoever asked
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "where to serve metrics over HTTPS; 0 for nowhere")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "where to serve /healthz and /readyz; 0 for nowhere")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "work only while holding the lease, so that of several replicas one does")
	flags.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "", "the namespace of the lease; the pod's own by default")
	namespaces = flags.String("watch-namespace", getenv("WATCH_NAMESPACE"),
		"the namespaces to look after, separated by commas; all by default (environment: WATCH_NAMESPACE)")
	limit = flags.String("max-replicas", cmp.Or(getenv("MAX_REPLICAS"), strconv.Itoa(defaultMaxReplicas)),
		"the most replicas that one Echo may ask for (environment: MAX_REPLICAS)")
	flags.StringVar(&o.echoServerImage, "echo-server-image", getenv("RELATED_IMAGE_ECHO_SERVER"),
		"the image of Echoes that name none (environment: RELATED_IMAGE_ECHO_SERVER)")
	config.RegisterFlags(flags)
	o.log.BindFlags(flags)
	return flags, namespaces, limit
}

// operatorUsage lists the operator's flags.
func operatorUsage(getenv func(string) string) string {
	flags, _, _ := new(options).flags(getenv)
	text := &strings.Builder{}
	text.WriteString("\nflags of the operator:\n")
	flags.SetOutput(text)
	flags.PrintDefaults()
	return text.String()
}

func parseNamespaces(list string) ([]string, error) {
	var namespaces []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("WATCH_NAMESPACE: %q is not the name of a namespace: %s", name, problems[0])
		}
		namespaces = append(namespaces, name)
	}
	return namespaces, nil
}

func parseMaxReplicas(text string) (int32, error) {
	limit, err := strconv.ParseInt(text, 10, 32)
	if err != nil || limit < 1 || limit > mostReplicas {
		return 0, fmt.Errorf("MAX_REPLICAS: %q is not a whole number from 1 to %d", text, mostReplicas)
	}
	return int32(limit), nil
}
