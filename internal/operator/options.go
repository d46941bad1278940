package operator

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/process"
)

const (
	checkOwnURLs, checkAnyURLs = "own", "any"
	schemaMaxReplicas          = 1000
	// mostVerbose is the highest allowed log level: at higher levels, client-go logs the bodies of requests and responses, including the
	// environment variables of Echoes.
	mostVerbose = 7
	// logLevelFlag sets the level of controller-runtime's logger, as does the environment variable logLevelVariable.
	logLevelFlag, logLevelVariable = "zap-log-level", "LOG_LEVEL"
)

// Options are the settings of the operator. The flags explain the fields without a comment.
type Options struct {
	Version        string
	MetricsAddress string
	// Metrics is the registry to which the operator adds its own metrics. Only metrics in controller-runtime's registry are served.
	Metrics                 prometheus.Registerer
	MetricsCertPath         string
	ProbeAddress            string
	LeaderElect             bool
	LeaderElectionNamespace string
	// Namespaces lists the namespaces to watch, or is empty for all namespaces.
	Namespaces []string
	CSV        string
	Images     objects.Images
	Policy     objects.Policy
	// Proxies holds the forward proxies for checks. They are configured only with environment variables, as for all programs.
	Proxies httpproxy.Config
	Log     zap.Options
	// DiscoveryPeriod is the time between two queries for APIs that Echoes require. It defaults to a minute.
	DiscoveryPeriod time.Duration
	// Traces is true if spans are sent. Tracing is configured only with environment variables, as OpenTelemetry specifies.
	Traces bool

	watchNamespace, maxReplicas, podSecurity, checkURLs, level string // the unparsed values

	// missing holds, by namespace, the rights that the operator lacks. These namespaces are not watched.
	missing missingRights
}

// setting is a flag that can also be set with an environment variable.
type setting struct {
	value                     *string
	flag, environment, preset string
	usage                     string
}

func (o *Options) settings() []setting {
	return []setting{
		{&o.watchNamespace, "watch-namespace", "WATCH_NAMESPACE", "", "namespaces to watch, separated by commas; empty for all"},
		{&o.maxReplicas, "max-replicas", "MAX_REPLICAS", "20",
			fmt.Sprintf("largest allowed spec.replicas of an Echo, from 1 to %d", schemaMaxReplicas)},
		{&o.podSecurity, "pod-security", "POD_SECURITY", "baseline",
			"Pod Security Standard that the pods of Echoes must meet: privileged, baseline, or restricted"},
		{&o.checkURLs, "check-urls", "CHECK_URLS", checkOwnURLs,
			"URLs that checks may examine: " + checkOwnURLs + " for the URLs of their Echo, or " + checkAnyURLs},
		{&o.CSV, "cluster-service-version", "OPERATOR_CONDITION_NAME", "",
			"ClusterServiceVersion from which OLM installed the operator; OLM sets it"},
		{&o.Images.EchoServer, "echo-server-image", "RELATED_IMAGE_ECHO_SERVER", "", "image for Echoes without spec.image; required"},
		{&o.Images.PathCheck, "pathcheck-image", "RELATED_IMAGE_PATHCHECK", "", "image for checks; if empty, checks are disabled"},
		{&o.level, logLevelFlag, logLevelVariable, "",
			fmt.Sprintf("log level: error, info, debug, or a number from 1 (debug) to %d (most verbose)", mostVerbose)},
	}
}

// AddFlags adds the operator's flags. If a flag is not given, its value comes from the corresponding environment variable, if there is one.
func (o *Options) AddFlags(flags *pflag.FlagSet, getenv func(string) string) {
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443",
		"HTTPS address for the metrics and the status API, or 0 to disable them")
	flags.StringVar(&o.MetricsCertPath, "metrics-cert-path", "",
		"directory with tls.crt and tls.key for the metrics and the status API; the files may be added later, and until then a "+
			"self-signed certificate is used")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz, or 0 to disable them")
	flags.BoolVar(&o.LeaderElect, "leader-elect", false, "elect a leader, so that only one of several replicas is active")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the lease; defaults to the namespace of the pod")
	for _, s := range o.settings() {
		flags.StringVar(s.value, s.flag, cmp.Or(getenv(s.environment), s.preset), s.usage+" (environment variable: "+s.environment+")")
	}
	o.Proxies = httpproxy.Config{HTTPProxy: cmp.Or(getenv("HTTP_PROXY"), getenv("http_proxy")),
		HTTPSProxy: cmp.Or(getenv("HTTPS_PROXY"), getenv("https_proxy")), NoProxy: cmp.Or(getenv("NO_PROXY"), getenv("no_proxy"))}
	// Spans are sent if the environment names a collector and does not disable traces.
	untraced := strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none"
	o.Traces = !untraced && getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	libraries := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(libraries)
	o.Log.BindFlags(libraries)
	libraries.VisitAll(func(f *flag.Flag) {
		if f.Name != logLevelFlag { // the logger would interpret 257 as 1
			flags.AddGoFlag(f)
		}
	})
}

// Complete checks the settings after the flags have been parsed. The error names the setting and its valid values.
func (o *Options) Complete() error {
	if o.Images.EchoServer == "" {
		return errors.New("no echo server image: set RELATED_IMAGE_ECHO_SERVER or --echo-server-image")
	}
	if o.checkURLs != checkOwnURLs && o.checkURLs != checkAnyURLs {
		return fmt.Errorf("CHECK_URLS: %q is neither %s nor %s", o.checkURLs, checkOwnURLs, checkAnyURLs)
	}
	o.Policy.AnyCheckURL = o.checkURLs == checkAnyURLs
	o.Namespaces = nil // all namespaces
	if o.watchNamespace != "" {
		o.Namespaces = strings.Split(o.watchNamespace, ",")
	}
	for _, name := range o.Namespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("WATCH_NAMESPACE: %q is not a valid namespace name: %s", name, problems[0])
		}
	}
	limit, err := strconv.ParseInt(o.maxReplicas, 10, 32)
	if err != nil || limit < 1 || limit > schemaMaxReplicas {
		return fmt.Errorf("MAX_REPLICAS: %q is not a whole number from 1 to %d", o.maxReplicas, schemaMaxReplicas)
	}
	o.Policy.MaxReplicas = int32(limit)
	if o.Policy.PodSecurity, err = objects.NewPodSecurity(o.podSecurity); err != nil {
		return fmt.Errorf("POD_SECURITY: %w", err)
	}
	if err := cmp.Or(o.checkAddresses(), process.ValidateProxies(o.Proxies)); err != nil {
		return err
	}
	if problems := validation.IsDNS1123Label(o.LeaderElectionNamespace); o.LeaderElectionNamespace != "" && len(problems) > 0 {
		return fmt.Errorf("--leader-election-namespace: %q is not a valid namespace name: %s", o.LeaderElectionNamespace, problems[0])
	}
	return o.completeLogLevel()
}

// completeLogLevel parses the level, and rejects a level at which the content of objects would be logged.
func (o *Options) completeLogLevel() error {
	number, err := strconv.Atoi(o.level)
	isValid := err != nil || number >= 1 && number <= mostVerbose
	if o.level != "" && isValid {
		libraries := flag.NewFlagSet("", flag.ContinueOnError)
		o.Log.BindFlags(libraries)
		isValid = libraries.Set(logLevelFlag, o.level) == nil
	}
	if !isValid {
		return fmt.Errorf("%s: it must be error, info, debug, or a number from 1 (debug) to %d (most verbose), not %q; "+
			"higher levels would write the content of objects, such as environment variables, into the log", logLevelVariable, mostVerbose, o.level)
	}
	return nil
}

// checkAddresses rejects invalid addresses, which would otherwise stop the operator much later. If an address were empty,
// controller-runtime would use a default address for the metrics, or would not serve probes.
func (o *Options) checkAddresses() error {
	const metrics, probes, disabled = "--metrics-bind-address", "--health-probe-bind-address", "0"
	for name, address := range map[string]string{metrics: o.MetricsAddress, probes: o.ProbeAddress} {
		_, port, err := net.SplitHostPort(address)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil && address != disabled {
			return fmt.Errorf("%s: %q is neither an address such as :8443 or 127.0.0.1:8443 nor %s", name, address, disabled)
		}
	}
	if _, port, _ := net.SplitHostPort(o.MetricsAddress); o.MetricsAddress == o.ProbeAddress && o.MetricsAddress != disabled && port != "0" {
		return fmt.Errorf("%s: %q is also the address of %s", probes, o.ProbeAddress, metrics)
	}
	return nil
}
