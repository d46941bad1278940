package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// validity is how long certificates are valid. New certificates are created each time a cluster starts.
const validity = 365 * 24 * time.Hour

// authority is the certificate authority of a cluster.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// identity is a client that authenticates to the API server with a certificate.
type identity struct{ file, user, group string }

// identities returns the identities of the API server's clients. Kubernetes grants permissions to these names by default.
func (s *settings) identities() []identity {
	return []identity{
		{"kubeconfig", "kubernetes-admin", "system:masters"},
		{"kube-controller-manager.kubeconfig", "system:kube-controller-manager", ""},
		{"kube-scheduler.kubeconfig", "system:kube-scheduler", ""},
		{"kube-proxy.kubeconfig", "system:kube-proxy", ""},
		{"kubelet.kubeconfig", "system:node:" + s.Node, "system:nodes"},
	}
}

// registryNames returns the public registries that the cluster's registry replaces over HTTPS.
func registryNames() []string { return []string{"quay.io", "registry.access.redhat.com"} }

// writeIdentities creates a new certificate authority, and writes certificates, keys and kubeconfigs.
func (s *settings) writeIdentities() error {
	pki := filepath.Join(s.Data, "pki")
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	caText := encode("CERTIFICATE", ca.certificate.Raw)
	if err := writeFile(filepath.Join(pki, "ca.crt"), caText); err != nil {
		return err
	}
	api := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(s.APIAddress), net.ParseIP(s.NodeAddress)},
	}
	subjects := map[string]*x509.Certificate{
		"apiserver":         api,
		"apiserver-kubelet": {Subject: pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}}},
		"front-proxy":       {Subject: pkix.Name{CommonName: "front-proxy-client"}},
		"service-account":   {Subject: pkix.Name{CommonName: "service-account"}},
		"registry":          {Subject: pkix.Name{CommonName: "registry"}, DNSNames: registryNames()},
		// OLM v1 needs this certificate, because the cluster has no cert-manager.
		"olmv1": {Subject: pkix.Name{CommonName: "olmv1"}, DNSNames: []string{"*.olmv1-system.svc", "*.olmv1-system.svc.cluster.local"}},
	}
	for name, subject := range subjects {
		certificate, key, err := ca.sign(subject)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(pki, name+".crt"), certificate); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(pki, name+".key"), key); err != nil {
			return err
		}
	}
	for _, i := range s.identities() {
		if err := s.writeKubeconfig(ca, caText, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) writeKubeconfig(ca *authority, caText []byte, i identity) error {
	subject := pkix.Name{CommonName: i.user}
	if i.group != "" {
		subject.Organization = []string{i.group}
	}
	certificate, key, err := ca.sign(&x509.Certificate{Subject: subject})
	if err != nil {
		return err
	}
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{s.Name: {Server: s.server(), CertificateAuthorityData: caText}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{i.user: {ClientCertificateData: certificate, ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{s.Name: {Cluster: s.Name, AuthInfo: i.user}},
		CurrentContext: s.Name,
	})
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(s.Data, i.file), text)
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "echo-cluster"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a.certificate = template
	raw, err := a.issue(template, key.Public())
	if err != nil {
		return nil, err
	}
	a.certificate, err = x509.ParseCertificate(raw)
	return a, err
}

// sign returns a new key and its certificate, which is valid for both servers and clients.
func (a *authority) sign(template *x509.Certificate) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	raw, err := a.issue(template, private.Public())
	if err != nil {
		return nil, nil, err
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", raw), encode("EC PRIVATE KEY", text), nil
}

func (a *authority) issue(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour) // clocks can differ
	template.NotAfter = time.Now().Add(validity)
	return x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
