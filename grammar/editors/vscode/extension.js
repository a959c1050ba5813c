// Starts `kernelc lsp` for files of the language `kernelc`.

const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

function activate() {
  const settings = vscode.workspace.getConfiguration('kernelc');
  const args = ['lsp', ...settings.get('arguments')];
  const server = { command: settings.get('path'), args, transport: TransportKind.stdio };
  client = new LanguageClient('kernelc', 'kernelc', server, { documentSelector: [{ language: 'kernelc', scheme: 'file' }] });
  return client.start();
}

function deactivate() {
  return client === undefined ? undefined : client.stop();
}

module.exports = { activate, deactivate };
