// Package openshift uses features that only OpenShift has: console objects, the cluster's TLS profile, and serving certificates.
package openshift

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	openshifttls "github.com/openshift/controller-runtime-common/pkg/tls"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/echo-operator/echo-operator/internal/certificates"
)

// TLSProfile is the TLS profile that a cluster had when the operator started.
type TLSProfile struct {
	spec configv1.TLSProfileSpec
	// Found is true if the cluster is OpenShift and lets the operator read its profile. Otherwise, the intermediate profile applies.
	Found bool
	// Refused is the reason why the operator cannot use the cluster's profile. It is empty if the operator can use it, or if there is none.
	Refused string
}

// AddAPIServer adds the APIServer kind, which contains the profile, to a scheme, without the hundred other kinds in the same API.
func AddAPIServer(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(configv1.GroupVersion, &configv1.APIServer{}, &configv1.APIServerList{})
	metav1.AddToGroupVersion(scheme, configv1.GroupVersion)
	return nil
}

// FindTLSProfile sends one request to read a cluster's profile. After an error, the operator does not know whether there is one.
func FindTLSProfile(ctx context.Context, cluster *rest.Config) (TLSProfile, error) {
	scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper([]schema.GroupVersion{configv1.GroupVersion})
	notAdded := AddAPIServer(scheme)
	mapper.Add(configv1.GroupVersion.WithKind("APIServer"), meta.RESTScopeRoot)
	live, err := client.New(cluster, client.Options{Scheme: scheme, Mapper: mapper})
	if err := cmp.Or(notAdded, err); err != nil {
		return TLSProfile{}, err
	}
	spec, err := openshifttls.FetchAPIServerTLSProfile(ctx, live)
	intermediate := TLSProfile{spec: *configv1.TLSProfiles[configv1.TLSProfileIntermediateType]}
	switch {
	case apierrors.IsNotFound(err):
		return intermediate, nil
	case apierrors.IsForbidden(err), errors.Is(err, openshifttls.ErrCustomProfileNil):
		intermediate.Refused = err.Error()
		return intermediate, nil
	}
	return TLSProfile{spec: spec, Found: true}, err
}

// Restrict restricts an endpoint to the profile. If Go supports none of the profile's ciphers, TLS 1.3 is the minimum, because Go uses
// fixed ciphers for TLS 1.3.
func (p TLSProfile) Restrict(endpoint *tls.Config) {
	restrict, _ := openshifttls.NewTLSConfigFromProfile(p.spec)
	restrict(endpoint)
	if len(endpoint.CipherSuites) == 0 {
		endpoint.MinVersion = tls.VersionTLS13
	}
}

// Names returns the names of the profile's minimum version and TLS 1.2 ciphers in the format that server flags expect. Both results are
// empty if the cluster has no profile. Servers in pods do not support versions before TLS 1.2 or ciphers that Go considers insecure.
func (p TLSProfile) Names() (minVersion string, ciphers []string) {
	if !p.Found {
		return "", nil
	}
	restricted := &tls.Config{} //nolint:gosec // Restrict sets the minimum
	p.Restrict(restricted)
	for _, suite := range tls.CipherSuites() {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS12) && slices.Contains(restricted.CipherSuites, suite.ID) {
			ciphers = append(ciphers, suite.Name)
		}
	}
	if len(ciphers) == 0 {
		return string(configv1.VersionTLS13), nil
	}
	return string(configv1.VersionTLS12), ciphers
}

// Cached returns the cache options for the objects that Watch requires.
func (p TLSProfile) Cached() map[client.Object]cache.ByObject {
	if !p.Found {
		return nil
	}
	return map[client.Object]cache.ByObject{&configv1.APIServer{}: {
		Field: fields.OneTermEqualSelector(metav1.ObjectNameField, openshifttls.APIServerName)}}
}

// Watch makes a manager call a function when the cluster's profile changes.
func (p TLSProfile) Watch(mgr manager.Manager, changed func()) error {
	if !p.Found {
		return nil
	}
	watcher := &openshifttls.SecurityProfileWatcher{
		Client: mgr.GetClient(), InitialTLSProfileSpec: p.spec,
		OnProfileChange: func(context.Context, configv1.TLSProfileSpec, configv1.TLSProfileSpec) { changed() },
	}
	return watcher.SetupWithManager(mgr)
}

// ServingCertificate is an endpoint's certificate. It is read from tls.crt and tls.key in a directory, and is self-signed until these files
// exist. The files can appear after the operator starts: OpenShift creates the Secret that a Service names in its
// service.beta.openshift.io/serving-cert-secret-name annotation. The kubelet then adds the files to the running pod. After a rotation, new
// connections use the new certificate.
type ServingCertificate struct {
	// Folder is the directory, which does not need to exist. If it is empty, the certificate is self-signed.
	Folder string
	Log    logr.Logger

	lock    sync.Mutex
	current *tls.Certificate
	problem string // why the files could not be used last time
}

// Get is the callback for tls.Config.GetCertificate. If the files cannot be used, it returns the previous certificate.
func (s *ServingCertificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.Folder != "" {
		loaded, err := readPair(s.Folder)
		switch {
		case err == nil:
			s.current, s.problem = &loaded, ""
		case !errors.Is(err, fs.ErrNotExist) && err.Error() != s.problem: // the last problem has been logged
			s.problem = err.Error()
			s.Log.Info("The certificate cannot be used. The endpoint continues to use the previous certificate.",
				"folder", s.Folder, "cause", s.problem)
		}
	}
	if s.current != nil {
		return s.current, nil
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	s.current = &pair
	return s.current, err
}

func readPair(folder string) (tls.Certificate, error) {
	certificate, noCertificate := os.ReadFile(filepath.Join(folder, "tls.crt"))
	key, noKey := os.ReadFile(filepath.Join(folder, "tls.key"))
	if err := cmp.Or(noCertificate, noKey); err != nil {
		return tls.Certificate{}, err
	}
	return certificates.Pair(certificate, key)
}
