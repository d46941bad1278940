package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/replay"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// Namespace is the namespace that contains the Echoes. The API server writes its own events to other namespaces.
	Namespace = replay.Namespace
	// CreatorUser is the user account of raw writers that create Echoes. The account has the operator's permissions, and can create and update
	// Echoes.
	CreatorUser = "creator"
	// scraper is the service account that can read the operator's metrics.
	scraper = "scraper"
)

// ControlPlane consists of etcd, an API server without controllers, and the accounts of the measured programs.
type ControlPlane struct {
	Client client.WithWatch // has an administrator's permissions
	http   *http.Client
	URL    string // URL of the API server
	folder string
	token  string // the scraper's token
	// Operator is the client configuration for the operator's account.
	Operator        *rest.Config
	apiServer, etcd int

	Env *envtest.Environment
}

// StartControlPlane starts an empty control plane.
func StartControlPlane(ctx context.Context) (_ *ControlPlane, err error) {
	p := &ControlPlane{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	if p.folder, err = os.MkdirTemp("", "operator-benchmark"); err != nil {
		return nil, err
	}
	if p.Env, err = controlplane.Start(filepath.Join("config", "crd", "bases")); err != nil {
		return nil, err
	}
	started, err := process.Children()
	if err != nil {
		return nil, err
	}
	p.apiServer, p.etcd, p.URL = started["kube-apiserver"], started["etcd"], strings.TrimSuffix(p.Env.Config.Host, "/")
	if p.apiServer == 0 || p.etcd == 0 {
		return nil, fmt.Errorf("kube-apiserver or etcd is missing from the processes %v", started)
	}
	if err := p.connect(); err != nil {
		return nil, err
	}
	return p, p.addAccounts(ctx)
}

func (p *ControlPlane) connect() (err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return err
	}
	config := rest.CopyConfig(p.Env.Config)
	config.QPS = -1
	if p.http, err = rest.HTTPClientFor(config); err != nil {
		return err
	}
	p.Client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

// Stop stops the control plane and removes its files.
func (p *ControlPlane) Stop() error {
	var err error
	if p.Env != nil {
		err = p.Env.Stop()
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}

// addAccounts adds the users and the scraper, and grants them their permissions.
func (p *ControlPlane) addAccounts(ctx context.Context) error {
	if err := p.Client.Create(ctx, &corev1.Namespace{Name: Namespace}); err != nil {
		return err
	}
	if err := controlplane.GrantOperatorsRole(ctx, p.Client, "config"); err != nil {
		return err
	}
	rights, err := rulesOf("role.yaml", "node_reader_role.yaml", "gateway_reader_role.yaml")
	if err != nil {
		return err
	}
	other, err := rulesOf("openshift_role.yaml")
	if err != nil {
		return err
	}
	leases, err := controlplane.Manifest(filepath.Join("config", "rbac", "leader_election_role.yaml"), &rbacv1.Role{})
	if err != nil {
		return err
	}
	echoes := rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"echoes"}, Verbs: []string{"create", "update"}}
	return errors.Join(
		controlplane.Grant(ctx, p.Client, controlplane.OperatorUser, "", other),
		controlplane.Grant(ctx, p.Client, controlplane.OperatorUser, Namespace, leases.Rules),
		controlplane.Grant(ctx, p.Client, CreatorUser, "", append(slices.Concat(rights, other), echoes)),
		p.addUsers(), p.addScraper(ctx))
}

// rulesOf returns the rules of the ClusterRoles in the given files.
func rulesOf(files ...string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for _, file := range files {
		role, err := controlplane.Manifest(filepath.Join("config", "rbac", file), &rbacv1.ClusterRole{})
		if err != nil {
			return nil, err
		}
		rules = append(rules, role.Rules...)
	}
	return rules, nil
}

func (p *ControlPlane) addUsers() error {
	for _, name := range []string{controlplane.OperatorUser, CreatorUser} {
		user, err := p.Env.AddUser(envtest.User{Name: name}, nil)
		if err != nil {
			return err
		}
		kubeconfig, err := user.KubeConfig()
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.Kubeconfig(name), kubeconfig, 0o600); err != nil {
			return err
		}
		if err := p.writeTarget(name, user.Config()); err != nil {
			return err
		}
		if name == controlplane.OperatorUser {
			p.Operator = user.Config()
		}
	}
	return p.writeServingCertificate()
}

// writeServingCertificate writes a certificate for the metrics endpoint, as OpenShift and cert-manager do. Otherwise, the operator would
// spend most of its startup time generating a certificate. Any certificate is sufficient, because no client verifies it.
func (p *ControlPlane) writeServingCertificate() error {
	return errors.Join(
		os.WriteFile(filepath.Join(p.folder, "tls.crt"), p.Operator.CertData, 0o600),
		os.WriteFile(filepath.Join(p.folder, "tls.key"), p.Operator.KeyData, 0o600))
}

// Kubeconfig returns the path of a user's kubeconfig.
func (p *ControlPlane) Kubeconfig(user string) string {
	return filepath.Join(p.folder, user+".kubeconfig")
}

// target returns the path of a user's configuration file for raw writers.
func (p *ControlPlane) target(user string) string { return filepath.Join(p.folder, user+".json") }

func (p *ControlPlane) writeTarget(user string, config *rest.Config) error {
	text, err := json.Marshal(replay.Target{Host: p.URL, CA: config.CAData, Certificate: config.CertData, Key: config.KeyData})
	if err != nil {
		return err
	}
	return os.WriteFile(p.target(user), text, 0o600)
}

func (p *ControlPlane) addScraper(ctx context.Context) error {
	account := &corev1.ServiceAccount{Namespace: Namespace, Name: scraper}
	if err := p.Client.Create(ctx, account); err != nil {
		return err
	}
	user := "system:serviceaccount:" + Namespace + ":" + scraper
	rules := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	if err := controlplane.Grant(ctx, p.Client, user, "", rules); err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * time.Hour / time.Second))}}
	err := p.Client.SubResource("token").Create(ctx, account, request)
	p.token = request.Status.Token
	return err
}

// Inventory returns, for each kind, the number of objects that exist for Echoes.
func (p *ControlPlane) Inventory(ctx context.Context) (map[string]int, error) {
	found := map[string]int{}
	for _, kind := range objects.Kinds(nil) {
		gvk, err := apiutil.GVKForObject(kind, p.Client.Scheme())
		if err != nil {
			return nil, err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		if err := p.Client.List(ctx, list, client.InNamespace(Namespace),
			client.MatchingLabelsSelector{Selector: objects.ManagedSelector()}); err != nil {
			return nil, err
		}
		if len(list.Items) > 0 {
			found[gvk.Kind] = len(list.Items)
		}
	}
	return found, nil
}
