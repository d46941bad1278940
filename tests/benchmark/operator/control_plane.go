package main

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
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/replay"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// namespace is that of the Echoes. The API server itself writes events in others.
	namespace = replay.Namespace
	// creatorUser may do what the operator may, and also create and update Echoes, as those may whom it is compared with.
	creatorUser = "creator"
	// scraper may read the metrics of the operator.
	scraper = "scraper"
)

// controlPlane is an etcd and an API server, without controllers, and with the accounts of what is measured.
type controlPlane struct {
	client client.WithWatch // of an administrator
	http   *http.Client
	url    string // of the API server
	folder string
	token  string // of the scraper
	// operator is the account of the operator.
	operator        *rest.Config
	apiServer, etcd int

	env *envtest.Environment
}

// startControlPlane starts an empty control plane. The files for those that use it are in a folder of its own.
func startControlPlane(ctx context.Context) (*controlPlane, error) {
	return startControlPlaneWith(ctx, func(*envtest.APIServer) {})
}

// startControlPlaneWith starts such a control plane with other arguments of the API server.
func startControlPlaneWith(ctx context.Context, configure func(*envtest.APIServer)) (_ *controlPlane, err error) {
	p := &controlPlane{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if p.folder, err = os.MkdirTemp("", "operator-benchmark"); err != nil {
		return nil, err
	}
	if p.env, err = controlplane.StartWith(configure, filepath.Join("config", "crd", "bases")); err != nil {
		return nil, err
	}
	started, err := process.Children()
	if err != nil {
		return nil, err
	}
	p.apiServer, p.etcd, p.url = started["kube-apiserver"], started["etcd"], strings.TrimSuffix(p.env.Config.Host, "/")
	if p.apiServer == 0 || p.etcd == 0 {
		return nil, fmt.Errorf("no kube-apiserver or etcd among the processes %v", started)
	}
	if err := p.connect(); err != nil {
		return nil, err
	}
	return p, p.addAccounts(ctx)
}

func (p *controlPlane) connect() (err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return err
	}
	config := rest.CopyConfig(p.env.Config)
	config.QPS = -1
	if p.http, err = rest.HTTPClientFor(config); err != nil {
		return err
	}
	p.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

func (p *controlPlane) stop() error {
	var err error
	if p.env != nil {
		err = p.env.Stop()
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}

// addAccounts adds the users and an account that may read metrics. It writes their files.
func (p *controlPlane) addAccounts(ctx context.Context) error {
	if err := p.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := controlplane.GrantOperatorsRole(ctx, p.client, "config"); err != nil {
		return err
	}
	rights, err := rulesOf("role.yaml", "node_reader_role.yaml", "gateway_reader_role.yaml")
	if err != nil {
		return err
	}
	other, err := rulesOf("metrics_auth_role.yaml", "openshift_role.yaml")
	if err != nil {
		return err
	}
	leases, err := controlplane.Manifest(filepath.Join("config", "rbac", "leader_election_role.yaml"), &rbacv1.Role{})
	if err != nil {
		return err
	}
	echoes := rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"echoes"}, Verbs: []string{"create", "update"}}
	return errors.Join(
		controlplane.Grant(ctx, p.client, controlplane.OperatorUser, "", other),
		controlplane.Grant(ctx, p.client, controlplane.OperatorUser, namespace, leases.Rules),
		controlplane.Grant(ctx, p.client, creatorUser, "", append(slices.Concat(rights, other), echoes)),
		p.addUsers(), p.addScraper(ctx))
}

// rulesOf returns the rules of roles of the operator.
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

func (p *controlPlane) addUsers() error {
	for _, name := range []string{controlplane.OperatorUser, creatorUser} {
		user, err := p.env.AddUser(envtest.User{Name: name}, nil)
		if err != nil {
			return err
		}
		kubeconfig, err := user.KubeConfig()
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.kubeconfig(name), kubeconfig, 0o600); err != nil {
			return err
		}
		if err := p.writeTarget(name, user.Config()); err != nil {
			return err
		}
		if name == controlplane.OperatorUser {
			p.operator = user.Config()
		}
	}
	return p.writeServingCertificate()
}

// writeServingCertificate writes a certificate for metrics, as OpenShift and cert-manager do: to make one would take most of the time of a
// start. Any certificate will do, because nobody checks it.
func (p *controlPlane) writeServingCertificate() error {
	return errors.Join(
		os.WriteFile(filepath.Join(p.folder, "tls.crt"), p.operator.CertData, 0o600),
		os.WriteFile(filepath.Join(p.folder, "tls.key"), p.operator.KeyData, 0o600))
}

func (p *controlPlane) kubeconfig(user string) string {
	return filepath.Join(p.folder, user+".kubeconfig")
}

// target returns the file that tells a raw writer where the API server is and who it is.
func (p *controlPlane) target(user string) string { return filepath.Join(p.folder, user+".json") }

func (p *controlPlane) writeTarget(user string, config *rest.Config) error {
	text, err := json.Marshal(replay.Target{Host: p.url, CA: config.CAData, Certificate: config.CertData, Key: config.KeyData})
	if err != nil {
		return err
	}
	return os.WriteFile(p.target(user), text, 0o600)
}

func (p *controlPlane) addScraper(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: scraper}}
	if err := p.client.Create(ctx, account); err != nil {
		return err
	}
	user := "system:serviceaccount:" + namespace + ":" + scraper
	rules := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	if err := controlplane.Grant(ctx, p.client, user, "", rules); err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * time.Hour / time.Second))}}
	err := p.client.SubResource("token").Create(ctx, account, request)
	p.token = request.Status.Token
	return err
}
