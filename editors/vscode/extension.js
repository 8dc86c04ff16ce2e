// Starts `fathom lsp` and connects it with the editor. Everything else is the server's.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = vscode.workspace.getConfiguration("fathom").get("path", "fathom");
  const documentSelector = [{ language: "dve" }, { language: "murphi" }];
  client = new LanguageClient("fathom", "fathom", { command, args: ["lsp"] }, { documentSelector });
  return client.start();
};

exports.deactivate = () => client?.stop();
